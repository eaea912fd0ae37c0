package execution

import (
	"maps"
	"slices"
)

// maxFresh is how many IDs a requestIDs keeps beside its map.
const maxFresh = 128

// requestIDs is a set of IDs of requests. A set never changes: with returns another one, which shares what it can with the first. So adding an
// ID takes a short time on average, also to a large set. The zero value is the empty set. Safe for concurrent use.
type requestIDs struct {
	known map[string]struct{} // never changed, because other sets may share it
	fresh []string            // of which the map has none; its elements are never changed
}

// has reports whether an ID is in the set.
func (r requestIDs) has(id string) bool {
	_, known := r.known[id]
	return known || slices.Contains(r.fresh, id)
}

// Len returns how many IDs the set has.
func (r requestIDs) Len() int { return len(r.known) + len(r.fresh) }

// with returns the set with one more ID.
func (r requestIDs) with(id string) requestIDs {
	if r.has(id) {
		return r
	}
	if len(r.fresh) < maxFresh {
		fresh := make([]string, len(r.fresh), len(r.fresh)+1)
		copy(fresh, r.fresh)
		return requestIDs{r.known, append(fresh, id)}
	}
	known := make(map[string]struct{}, r.Len()+1)
	maps.Copy(known, r.known)
	for _, one := range r.fresh {
		known[one] = struct{}{}
	}
	known[id] = struct{}{}
	return requestIDs{known: known}
}

// Equal reports whether two sets have the same IDs.
func (r requestIDs) Equal(other requestIDs) bool {
	if r.Len() != other.Len() {
		return false
	}
	for id := range r.known {
		if !other.has(id) {
			return false
		}
	}
	for _, id := range r.fresh {
		if !other.has(id) {
			return false
		}
	}
	return true
}
