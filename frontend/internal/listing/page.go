package listing

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// DefaultPageSize is how many entries a page has if the request does not say.
	DefaultPageSize = 100
	// ReplyOverhead is how many bytes the body of a list reply has beside its entries: a page token above all.
	ReplyOverhead = 1024
	// Readers bounds how many entries of a page are made ready at once: most take no more than what was read.
	Readers = 16
	// tokenVersion is the first byte of a page token.
	tokenVersion = 1
)

// Page is one page of a list in the making. It is for one goroutine.
type Page struct {
	// Keys are ordered by ID. Those with the prefix are listed.
	Keys   []schedule.Key
	Prefix string
	// Size is how many entries the page may have.
	Size int
	// After is the ID up to which all keys have been looked at; More says that others follow.
	After string
	More  bool

	entries [][]byte // encoded
	ids     []string // of the entries
}

// NewPage returns the page that a request asks for. It has no keys yet. The error is about the page token.
func NewPage(req *schedule.ListRequest) (*Page, error) {
	after, err := DecodePageToken(req.PageToken)
	if err != nil {
		return nil, err
	}
	return &Page{Prefix: req.Prefix, After: after, Size: cmp.Or(req.PageSize, DefaultPageSize), More: true}, nil
}

// NextToken returns the token of the page after this one; empty if this is the last.
func (p *Page) NextToken() string {
	if !p.More {
		return ""
	}
	return EncodePageToken(p.After)
}

// Entries returns the encoded entries of the page so far. It is never nil, so that it is an empty list in JSON and not null.
func (p *Page) Entries() []json.RawMessage { return RawMessages(p.entries) }

// IsFull reports whether nothing more can be added.
func (p *Page) IsFull() bool { return !p.More || len(p.entries) >= p.Size }

// Next returns the keys to look at next: as many as there is room for, and at least least of them if there are so many.
func (p *Page) Next(least int) (keys []schedule.Key) {
	keys, p.More = Keys(p.Keys, p.Prefix, p.After, max(p.Size-len(p.entries), least))
	if len(keys) > 0 {
		p.After = keys[len(keys)-1].ID
	}
	return keys
}

// Add adds the encoded entries of keys, in the same order. An entry that is nil is left out.
func (p *Page) Add(keys []schedule.Key, entries [][]byte) {
	for i, entry := range entries {
		if entry != nil {
			p.ids, p.entries = append(p.ids, keys[i].ID), append(p.entries, entry)
		}
	}
}

// Cut leaves to the next page what this one, or a reply of limit bytes, cannot hold.
func (p *Page) Cut(limit int) {
	if fits := min(Fit(p.entries, limit), p.Size); fits < len(p.entries) {
		p.After, p.More = p.ids[fits-1], true // each fits by itself, or it would have been left out
		p.ids, p.entries = p.ids[:fits], p.entries[:fits]
	}
}

// Keys cuts one page from keys, which are ordered by ID: the first size keys that have the prefix and an ID greater than after. More says
// that others follow.
//
// A page begins after an ID and not at a number. So schedules that are created or deleted meanwhile neither repeat nor hide others.
func Keys(keys []schedule.Key, prefix, after string, size int) (page []schedule.Key, more bool) {
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

// IDs returns the IDs of the page that [Keys] cuts.
func IDs(keys []schedule.Key, prefix, after string, size int) []string {
	page, _ := Keys(keys, prefix, after, size)
	ids := make([]string, len(page))
	for i, key := range page {
		ids[i] = key.ID
	}
	return ids
}

// lowerBound is the index of the first key whose ID is not less.
func lowerBound(keys []schedule.Key, id string) int {
	i, _ := slices.BinarySearchFunc(keys, id, func(k schedule.Key, id string) int { return cmp.Compare(k.ID, id) })
	return i
}

// EncodePageToken makes the token of the page after an ID. The token is opaque to callers and stays valid forever.
func EncodePageToken(after string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{tokenVersion}, after...))
}

// DecodePageToken reverses [EncodePageToken]. The empty token stands for the first page. The error has the code invalid_argument.
func DecodePageToken(token string) (after string, err error) {
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

// Fit returns how many encoded entries of a page a reply of limit bytes can hold.
func Fit(entries [][]byte, limit int) int {
	size := 0
	for i, entry := range entries {
		size += len(entry) + len(",")
		if size > limit {
			return i
		}
	}
	return len(entries)
}

// RawMessages turns encoded entries into a list, which is never nil, so that it is an empty list in JSON and not null.
func RawMessages(encoded [][]byte) []json.RawMessage {
	list := make([]json.RawMessage, len(encoded))
	for i := range encoded {
		list[i] = encoded[i]
	}
	return list
}
