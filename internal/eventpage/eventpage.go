// Package eventpage is how the events of a history are divided into pages, wherever the history is: in a journal (package history) or in an archive
// (package archival). So a page that one of them began may be continued by the other, after the run has been archived and removed.
//
// All of it is pure. The package must know neither journals nor archives, nor read an event. It may import internal/codec.
package eventpage

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

// Most is how many events a page has at most.
const Most = 1000

// Request is a request of a client of Temporal for a page of a history, in either direction.
type Request interface {
	GetExecution() *commonpb.WorkflowExecution
	GetNextPageToken() []byte
	GetMaximumPageSize() int32
}

// Token says where the next page of a history begins. It comes back from clients, so it must be used only to read the history that the request names.
type Token struct {
	RunID string `json:"runId"`
	// Next is the ID of the next event, from 1 on. Sequence is that of an entry of the journal at or before it; zero if none is known.
	Next     int64  `json:"next"`
	Sequence uint64 `json:"sequence,omitempty"`
}

// Marshal encodes the token for the answer to a client. Safe for concurrent use.
func (t Token) Marshal() []byte {
	data, err := codec.Marshal(&t)
	if err != nil {
		panic(err) // a struct of scalars can be encoded
	}
	return data
}

// TokenOf returns the token of a request. A request for the first page has none: then the run is the one that it names, and the next event the first.
// The error is an InvalidArgument of Temporal.
func TokenOf(r Request) (Token, error) {
	token := Token{RunID: r.GetExecution().GetRunId(), Next: 1}
	if len(r.GetNextPageToken()) == 0 {
		return token, nil
	}
	if err := codec.Unmarshal(r.GetNextPageToken(), &token); err != nil || token.RunID == "" || token.Next < 1 {
		return token, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
	}
	if asked := r.GetExecution().GetRunId(); asked != "" && asked != token.RunID {
		return token, serviceerror.NewInvalidArgument("RunId does not match with the one in NextPageToken.")
	}
	return token, nil
}

// SizeOf returns how many events the page of a request may have: 1 to [Most].
func SizeOf(r Request) int {
	most := int(r.GetMaximumPageSize())
	if most < 1 || most > Most {
		return Most
	}
	return most
}

// BytesOf returns how many bytes of events a page may have, where a message of NATS has room for so many.
func BytesOf(maxPayload int64) int { return int(maxPayload) / 4 * 3 }
