package subjects

// Processes is the subject on which each process of the installation is asked what it is. Nothing of it is stored.
func (n Names) Processes() string { return n.prefix + ".processes" }
