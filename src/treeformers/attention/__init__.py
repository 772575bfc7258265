"""How attention sees a tree, one paper a file: pure functions, then the module that owns the weights."""
