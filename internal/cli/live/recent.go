package live

// recentSize bounds the IDs remembered. Repeats follow what they repeat within a transition or two.
const recentSize = 4096

// recent remembers the IDs of the newest events, to drop repeats. The zero value is ready to use.
type recent struct {
	known map[string]struct{}
	ring  []string
	next  int
}

// add remembers an ID and reports whether it was new. An empty ID is always new.
func (r *recent) add(id string) bool {
	if id == "" {
		return true
	}
	if _, ok := r.known[id]; ok {
		return false
	}
	if r.known == nil {
		r.known = make(map[string]struct{}, recentSize)
	}
	r.known[id] = struct{}{}
	if len(r.ring) < recentSize {
		r.ring = append(r.ring, id)
		return true
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % recentSize
	return true
}
