"""What can only refuse: pages that look alike, and are not copies."""
