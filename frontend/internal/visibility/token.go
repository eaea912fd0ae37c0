package visibility

import (
	"bytes"
	"crypto/sha256"

	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/search"
)

// pageToken says where a page ends, and which query it belongs to. For clients it is opaque bytes.
type pageToken struct {
	Query   []byte  `json:"query"`
	RunID   string  `json:"runId"`
	Closed  int64   `json:"closed,omitempty"`
	Started int64   `json:"started,omitempty"`
	Text    *string `json:"text,omitempty"`
	Number  *int64  `json:"number,omitempty"`
	// Double is a number with a fraction.
	Double *float64 `json:"double,omitempty"`
}

// fingerprint identifies a query. It is that of the text: what the text means may depend on which search attributes executions have by now.
func fingerprint(query string) []byte {
	sum := sha256.Sum256([]byte(query))
	return sum[:8]
}

func encodeToken(mark []byte, p search.ExecutionPosition) ([]byte, error) {
	token := pageToken{Query: mark, RunID: p.RunID, Closed: p.Closed, Started: p.Started}
	switch value := p.Value.(type) {
	case string:
		token.Text = &value
	case int64:
		token.Number = &value
	case float64:
		token.Double = &value
	}
	return codec.Marshal(&token)
}

// decodeToken reverses encodeToken. The empty token stands for the first page.
func decodeToken(mark, data []byte) (p search.ExecutionPosition, err error) {
	if len(data) == 0 {
		return p, nil
	}
	var token pageToken
	switch err := codec.Unmarshal(data, &token); {
	case err != nil, token.RunID == "":
		return p, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
	case !bytes.Equal(token.Query, mark):
		return p, serviceerror.NewInvalidArgument("NextPageToken is that of another query: repeat the query as it was.")
	}
	p = search.ExecutionPosition{RunID: token.RunID, Closed: token.Closed, Started: token.Started}
	switch {
	case token.Text != nil:
		p.Value = *token.Text
	case token.Number != nil:
		p.Value = *token.Number
	case token.Double != nil:
		p.Value = *token.Double
	}
	return p, nil
}
