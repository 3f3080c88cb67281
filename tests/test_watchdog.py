"""Deadlines: those that pass are told, once; those that are called off are not."""

from __future__ import annotations

import threading

from scrapy_simdedup.watchdog import Watchdog


def test_a_deadline_that_passes_is_told_once() -> None:
    dog, passed = Watchdog(), threading.Semaphore(0)
    dog.expect(0.01, passed.release)
    assert passed.acquire(timeout=10)
    assert not passed.acquire(timeout=0.1)


def test_an_earlier_deadline_does_not_wait_for_a_later_one() -> None:
    dog, order, done = Watchdog(), [], threading.Event()
    dog.expect(30, lambda: order.append("late"))
    dog.expect(0.2, done.set)
    dog.expect(0.02, lambda: order.append("early"))
    assert done.wait(timeout=10)
    assert order == ["early"]


def test_what_is_called_off_does_not_happen() -> None:
    dog, called, done = Watchdog(), [], threading.Event()
    numbers = [dog.expect(0.05, lambda: called.append(1)) for _ in range(100)]
    for number in numbers[:99]:
        dog.call_off(number)
    dog.expect(0.2, done.set)
    assert done.wait(timeout=10)
    assert called == [1]
    # One that has passed already is no error.
    dog.call_off(numbers[-1])


def test_deadlines_of_many_threads_all_pass() -> None:
    dog, passed = Watchdog(), threading.Semaphore(0)

    def expect() -> None:
        for _ in range(50):
            dog.expect(0.001, passed.release)

    threads = [threading.Thread(target=expect) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(passed.acquire(timeout=10) for _ in range(400))
