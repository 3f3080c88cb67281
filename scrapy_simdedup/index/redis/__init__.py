"""The index in a Redis server, shared by crawlers on many machines.

SQLite lets one crawler write at a time, and a judgement is one transaction. Over a network that
would be a lock on everybody. Here a judgement is optimistic: it looks, decides, and writes only
if all that it looked at is still as it was.

::

    crawler                                  server (each arrow up and down is one round trip)
    look(names, keys of all methods)  --->   the pages that go by the names, the rows under the
                                      <---   keys, the runs that are alive, and a stamp of it all
    dispose: load candidates          --->   MGET
                                      <---   their records
    a copy of an original that is            (nothing to write but the log, which is local)
      - settled: log it
      - open: log it, and lean on it  --->   if its record is still the same: note who leans
    the same page again: visit        --->   if its record is still the same: write it anew
    new: claim, with the stamp        --->   look again; if the stamp is the same: give it a
                                             number, store its record and its rows
                                      <---   the number, or what there is to be seen now: then
                                             the judgement is made anew from that

Each script runs alone on the server, so of two equal pages in flight the one whose claim comes
second sees the first one's rows, is judged again, and names it as its original. No claim is ever
half made, nobody waits for anybody, and a judgement that is made anew has been overtaken by one
that came to an end. A crawler that dies between two arrows leaves nothing behind.

What a copy leans on may come to nothing: whoever releases that claim (or finds its run dead)
passes a notice on to the log that holds the copy, and it becomes ``orphaned`` there.

A run is alive while it has told so in the last minute by the server's clock, a minute of which
the server has been up; of runs that share a log on one machine, as long as their process lives.

Keys, all below a prefix:

==================  =====================================================================
``meta``            hash: schema, identity, id of this index; the last run and page numbers
``live``            sorted set: runs by their last heartbeat, in milliseconds
``dead``            set: runs that were found dead and whose claims are being released
``run:N``           hash: what run N is; its last step, so that one is never made twice
``job:J``           set: the runs of a job
``open:N``          set: the pages that run N holds an open claim on
``page:P``          string: the record of a page (``record``)
``held``            bitmap: one bit for each page that is stored
``BAND:BUCKET``     string: rows, as ``rows`` packs them
``body:D``          string: what a body was judged to be of which no page is stored
``copies:P``        list: the copies that lean on the open claim on page P
``orphans:L``       list: the copies in log L whose originals came to nothing
==================  =====================================================================
"""
