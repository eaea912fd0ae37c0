package execution

import (
	"time"

	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
)

// Input is what happens to an execution: one of the types of this package that say so.
type Input interface {
	// cause names the kind of input in entries.
	cause() string
	// decide changes the working copy of the state. An error means that nothing happens, and is what the caller is told.
	decide(tx *transition) (proto.Message, error)
}

// Decision is what became of an input.
type Decision struct {
	// Entry is to be appended to the journal, after the entry with the sequence of the state; nil if nothing changes.
	Entry *Entry
	// After is the state once the entry is stored. Its sequence is still the old one: see [State.Stored]. It shares what has not changed with the
	// state before it.
	After *State
	// Reply answers the caller: Temporal's response to the request. It may be given once the entry is stored.
	Reply proto.Message
	// Refusal is an error for the caller, although there is an entry: the failure of a workflow task, for example. It too may be given once the
	// entry is stored.
	Refusal error
	// Beat is a heartbeat to store before the reply; nil if there is none.
	Beat *Beat
	// Arm is for when a delayed message is to be armed, beside the entry if there is one; zero for none. It must not replace another message, and
	// leads to [TimerDue].
	Arm time.Time
	// History says which events belong into a reply that brings a workflow task; nil in other replies.
	History *History
}

// History is the part of the event history that a worker gets with a workflow task.
type History struct {
	// From and To are the IDs of the first and the last event, all of which are in the journal once the entry is stored.
	From, To int64
	// Suffix are events after them that are not in the journal, and perhaps never will be.
	Suffix []*historypb.HistoryEvent
}

// Decide says what becomes of an input. It changes neither the state nor the input. The error is one of Temporal's (package serviceerror), and
// means that nothing has changed.
func Decide(state *State, in Input, now time.Time) (Decision, error) {
	tx := begin(state, in.cause(), now)
	reply, err := in.decide(tx)
	if err != nil {
		return Decision{}, err
	}
	return tx.end(reply), nil
}
