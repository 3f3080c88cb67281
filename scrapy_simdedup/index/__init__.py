"""Where rows are stored and looked up."""
