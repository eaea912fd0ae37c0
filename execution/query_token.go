package execution

import (
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

// QueryToken is what a worker gets with a task that only asks a query, and gives back with the answer. Such a task is nowhere stored, so the
// token says who awaits the answer, and nothing else.
type QueryToken struct {
	Namespace string `json:"namespace"`
	// QueryID is the ID of the query: the answer goes to whoever asked under this ID.
	QueryID string `json:"queryId"`
}

// Marshal encodes a token for a worker.
func (t QueryToken) Marshal() []byte { return marshalToken(&t) }

// ParseQueryToken decodes a token from a client. The error is Temporal's InvalidArgument.
func ParseQueryToken(data []byte) (QueryToken, error) {
	var token QueryToken
	if err := codec.Unmarshal(data, &token); err != nil || token.QueryID == "" {
		return QueryToken{}, serviceerror.NewInvalidArgument("Error deserializing task token.")
	}
	return token, nil
}
