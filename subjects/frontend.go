package subjects

// FrontendBeat is the subject on which frontends tell each other that they are there. Nothing of it is stored.
func (n Names) FrontendBeat() string { return n.prefix + ".frontend.beat" }
