package execution

import (
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

// Token is what a worker gets with a task, and gives back with its result. For clients it is opaque bytes. It says which task a result is for;
// what it says is a claim, which the state of the execution confirms or not.
type Token struct {
	Namespace  string `json:"namespace"`
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
	// Scheduled and Started are the IDs of the events with which the task was scheduled and started. Started is zero for activities, whose event is
	// written when they end.
	Scheduled int64 `json:"scheduled"`
	Started   int64 `json:"started,omitempty"`
	Attempt   int32 `json:"attempt"`
	// Stamp is that of the activity: after a reset, attempts have the numbers of earlier ones.
	Stamp int32 `json:"stamp,omitempty"`
	// StartedTime distinguishes tasks that have the same events, because the first left none.
	StartedTime time.Time `json:"startedTime,omitzero"`
}

// Key is the journal that the task belongs to.
func (t Token) Key() Key { return Key{t.Namespace, t.WorkflowID} }

// Marshal encodes a token for a worker.
func (t Token) Marshal() []byte { return marshalToken(&t) }

func marshalToken(token any) []byte {
	data, err := codec.Marshal(token)
	if err != nil {
		panic(err) // a struct of scalars can be encoded
	}
	return data
}

// ParseToken decodes a token from a client. The error is Temporal's InvalidArgument.
func ParseToken(data []byte) (Token, error) {
	var token Token
	if err := codec.Unmarshal(data, &token); err != nil || token.WorkflowID == "" || token.RunID == "" {
		return Token{}, serviceerror.NewInvalidArgument("Error deserializing task token.")
	}
	return token, nil
}
