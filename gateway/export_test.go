package gateway

// Listed returns the methods of the table of what a caller needs, and how often each is there.
func Listed() map[string]int {
	all := map[string]int{}
	for _, each := range methodsByNeed {
		for _, method := range each.methods {
			all[method]++
		}
	}
	return all
}
