package catalog

// Definition is the Digest that the tool gets once it is in a [Catalog].
func (t *Tool) Definition() string { return t.digest() }
