package frontend

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	defaultPageSize = 100
	// tokenVersion is the first byte of a page token.
	tokenVersion = 1
)

// page is one page of a list in the making.
type page struct {
	keys   []schedule.Key // ordered by ID
	prefix string
	size   int
	// entries are those of the page so far, encoded, and ids the schedules they are of.
	entries [][]byte
	ids     []string
	// after is the ID up to which all has been looked at; more says that others follow.
	after string
	more  bool
}

// full reports whether nothing can be added any more.
func (p *page) full() bool { return !p.more || len(p.entries) >= p.size }

// next returns the keys that are to be looked at next: as many as there is room for, or at least some.
func (p *page) next(least int) (keys []schedule.Key) {
	keys, p.more = pageKeys(p.keys, p.prefix, p.after, max(p.size-len(p.entries), least))
	if len(keys) > 0 {
		p.after = keys[len(keys)-1].ID
	}
	return keys
}

func (p *page) add(id string, entry []byte) {
	p.ids, p.entries = append(p.ids, id), append(p.entries, entry)
}

// cut leaves for the next page what this one, or a reply of limit bytes, cannot hold.
func (p *page) cut(limit int) {
	if fits := min(fitPage(p.entries, limit), p.size); fits < len(p.entries) {
		p.after, p.more = p.ids[fits-1], true // each fits by itself, or it would have been left out
		p.ids, p.entries = p.ids[:fits], p.entries[:fits]
	}
}

// pageKeys cuts one page from keys, which are ordered by ID: the first size keys with the prefix and an ID greater than
// after. More says that others follow.
//
// A page begins after an ID and not at a number, so schedules that come and go elsewhere neither repeat nor hide others.
func pageKeys(keys []schedule.Key, prefix, after string, size int) (page []schedule.Key, more bool) {
	if after < prefix {
		keys = keys[lowerBound(keys, prefix):]
	} else {
		keys = keys[lowerBound(keys, after):]
		if len(keys) > 0 && after != "" && keys[0].ID == after {
			keys = keys[1:]
		}
	}
	end := slices.IndexFunc(keys, func(k schedule.Key) bool { return !strings.HasPrefix(k.ID, prefix) })
	if end >= 0 {
		keys = keys[:end]
	}
	if len(keys) > size {
		return keys[:size], true
	}
	return keys, false
}

// lowerBound is the index of the first key whose ID is not less.
func lowerBound(keys []schedule.Key, id string) int {
	i, _ := slices.BinarySearchFunc(keys, id, func(k schedule.Key, id string) int { return cmp.Compare(k.ID, id) })
	return i
}

// encodePageToken makes the token of the page after an ID. It is opaque to callers, and stays valid for ever.
func encodePageToken(after string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{tokenVersion}, after...))
}

// decodePageToken reverses encodePageToken. The empty token stands for the first page.
func decodePageToken(token string) (after string, err error) {
	if token == "" {
		return "", nil
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(data) < 2 || data[0] != tokenVersion {
		return "", schedule.Invalid("pageToken", "is not a token of an earlier reply: "+
			"repeat nextPageToken as it was, or leave it out to begin with the first page")
	}
	return string(data[1:]), nil
}

// fitPage returns how many encoded entries of a page a reply of limit bytes can hold.
func fitPage(entries [][]byte, limit int) int {
	size := 0
	for i, entry := range entries {
		size += len(entry) + len(",")
		if size > limit {
			return i
		}
	}
	return len(entries)
}
