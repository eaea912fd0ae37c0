package schedules

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// searchTokenVersion is the first byte of a page token of a search; tokenVersion is the first byte for another list.
	searchTokenVersion = 2
	fingerprintBytes   = 8
)

// The kinds of values that a search is ordered by, as encoded in a token.
const (
	noValue byte = iota
	intValue
	textValue
)

// searchToken makes and reads the page tokens of one search. A token says where a page ends, and what was searched for. It is
// opaque to callers.
type searchToken struct{ fingerprint []byte }

// fingerprint identifies a search, however its query is written.
func fingerprint(q *query.Query, prefix string) []byte {
	sum := sha256.Sum256([]byte(prefix + "\x00" + q.String()))
	return sum[:fingerprintBytes]
}

func (t searchToken) encode(p search.Position) string {
	data := append([]byte{searchTokenVersion}, t.fingerprint...)
	switch value := p.Value.(type) {
	case int64:
		data = binary.BigEndian.AppendUint64(append(data, intValue), uint64(value))
	case string:
		data = binary.AppendUvarint(append(data, textValue), uint64(len(value)))
		data = append(data, value...)
	default:
		data = append(data, noValue)
	}
	return base64.RawURLEncoding.EncodeToString(append(data, p.ID...))
}

// decode reverses encode. The empty token stands for the first page.
func (t searchToken) decode(token string) (search.Position, error) {
	if token == "" {
		return search.Position{}, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(data) < 1+fingerprintBytes+1 || data[0] != searchTokenVersion {
		return search.Position{}, errNoSearchToken
	}
	data = data[1:]
	if !bytes.Equal(data[:fingerprintBytes], t.fingerprint) {
		return search.Position{}, schedule.Invalid("pageToken",
			"is that of another search: repeat query and prefix as they were, or leave it out to begin with the first page")
	}
	p, ok := decodePosition(data[fingerprintBytes:])
	if !ok {
		return search.Position{}, errNoSearchToken
	}
	return p, nil
}

var errNoSearchToken = schedule.Invalid("pageToken", "is not a token of an earlier reply to a query: "+
	"repeat nextPageToken as it was, or leave it out to begin with the first page")

func decodePosition(data []byte) (p search.Position, ok bool) {
	kind, data := data[0], data[1:]
	switch kind {
	case noValue:
	case intValue:
		if len(data) < 8 {
			return p, false
		}
		p.Value, data = int64(binary.BigEndian.Uint64(data)), data[8:]
	case textValue:
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return p, false
		}
		p.Value, data = string(data[n:n+int(length)]), data[n+int(length):]
	default:
		return p, false
	}
	p.ID = string(data)
	return p, p.ID != ""
}
