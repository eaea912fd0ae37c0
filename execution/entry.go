package execution

import (
	"fmt"
	"time"

	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/codec"
)

// Entry is one message of a journal: all that one transition decided.
type Entry struct {
	// Time is when it was decided, by the clock of who decided.
	Time time.Time `json:"time"`
	// Cause is the kind of input that led to it, such as "signal".
	Cause string `json:"cause"`
	// Trace is the W3C traceparent of the input.
	Trace string `json:"trace,omitempty"`
	// Parts are what it adds to runs: one part, or two if one run ends and the next begins.
	Parts []Part `json:"parts"`
}

// Part is what an entry adds to one run: events that users see, and the values after the transition of what only the service needs. Nil means
// that a value stays as it is.
type Part struct {
	RunID string `json:"runId"`
	// First is the stream sequence of the entry with which the run begins; zero in that entry.
	First uint64 `json:"first,omitempty"`
	// Events are numbered without a gap. Encoded is the same, as Temporal's HistoryEvents.
	Events  []*historypb.HistoryEvent `json:"-"`
	Encoded [][]byte                  `json:"events,omitempty"`
	// Task and Sticky replace those of the run.
	Task   *WorkflowTask `json:"task,omitempty"`
	Sticky *Sticky       `json:"sticky,omitempty"`
	// Activities replace those with the same event.
	Activities []ActivityRecord `json:"activities,omitempty"`
	// Paused replaces what of the run is paused, for its search attribute.
	Paused *PauseInfo `json:"paused,omitempty"`
	// TakenBack are the places, from 0, of events that the run had buffered and that are removed first, one after the other.
	TakenBack []int32 `json:"takenBack,omitempty"`
	// Flushed says that the events which the run had buffered are among Events. Buffer are the events to buffer, after that.
	Flushed bool `json:"flushed,omitempty"`
	// Arrived are the IDs of those Events that an earlier entry buffered. What they change has changed then.
	Arrived       []int64                   `json:"arrived,omitempty"`
	Buffer        []*historypb.HistoryEvent `json:"-"`
	EncodedBuffer [][]byte                  `json:"buffer,omitempty"`
	// LastStarted replaces that of the run.
	LastStarted *int64 `json:"lastStarted,omitempty"`
	// StartRequest and Resets are those of the run, in the first entry of the run. Resets are also in an entry that deletes the run.
	StartRequest string        `json:"startRequest,omitempty"`
	Resets       []ResetRecord `json:"resets,omitempty"`
	// ResetRun is the run that a reset has begun from this one, in the entry that ends it for that.
	ResetRun string `json:"resetRun,omitempty"`
	// Base is what the run has from other runs, in the first entry of a run that a reset has begun; nil in others.
	Base *Base `json:"base,omitempty"`
	// Earlier is that of the run, in its first entry, and in the one that deletes it.
	Earlier []string `json:"earlier,omitempty"`
	// Removed are runs of the workflow ID that the entry deletes; in the first entry of a run, the ones before it that have been deleted. If the run of
	// the part is among them, the part says all that is left of it.
	Removed []string `json:"removed,omitempty"`
	// Ended says that the run had ended before.
	Ended bool `json:"ended,omitempty"`
	// Needs are those of the run, in its first entry, and in the one that deletes it.
	Needs []Need `json:"needs,omitempty"`
	// Callback says who is to be told how the chain of runs ends: in the first entry of each run, and again in the one that ends the last.
	Callback []byte `json:"callback,omitempty"`
	// Parent is whom to tell how the chain of runs ends, in the entry that ends the last. Orphans are the children that end with the run.
	Parent  *Parent  `json:"parent,omitempty"`
	Orphans []Orphan `json:"orphans,omitempty"`
	// Admitted are updates that the run takes. EncodedUpdates are the same. Rejected are those that it does not know any longer.
	Admitted       []*updatepb.Request `json:"-"`
	EncodedUpdates [][]byte            `json:"updates,omitempty"`
	Rejected       []Rejection         `json:"rejected,omitempty"`
	// Requests are IDs of requests that have been accepted.
	Requests []string `json:"requests,omitempty"`
	// FirstTask and Armed replace those of the run.
	FirstTask *time.Time `json:"firstTask,omitempty"`
	Armed     *time.Time `json:"armed,omitempty"`
}

// shortRun is up to which event the entries of a run are so few that each is worth a question: some ten.
const shortRun = 30

// Short reports whether the newest run of the entry may have some ten entries at most, this one included. An entry without events does not tell.
func (e *Entry) Short() bool {
	events := e.Parts[len(e.Parts)-1].Events
	return len(events) == 0 || events[len(events)-1].GetEventId() <= shortRun
}

// Marshal encodes an entry for its journal. Safe for concurrent use.
func (e *Entry) Marshal() ([]byte, error) {
	stored := *e
	stored.Parts = make([]Part, len(e.Parts))
	for i, part := range e.Parts {
		if err := part.encode(); err != nil {
			return nil, err
		}
		stored.Parts[i] = part
	}
	return codec.Marshal(&stored)
}

// encode sets what is stored in Temporal's encoding.
func (p *Part) encode() (err error) {
	if p.Encoded, err = encode(p.Events); err != nil {
		return err
	}
	if p.EncodedBuffer, err = encode(p.Buffer); err != nil {
		return err
	}
	if p.Base != nil {
		base := *p.Base
		if base.EncodedStart, err = proto.Marshal(base.Start); err != nil {
			return fmt.Errorf("execution: %T: %w", base.Start, err)
		}
		p.Base = &base
	}
	p.EncodedUpdates, err = encode(p.Admitted)
	return err
}

// ParseEntry decodes what [Entry.Marshal] wrote. The error wraps codec.ErrFormat if the data is anything else.
func ParseEntry(data []byte) (*Entry, error) {
	var entry Entry
	if err := codec.Unmarshal(data, &entry); err != nil {
		return nil, err
	}
	if n := len(entry.Parts); n < 1 || n > 2 {
		return nil, fmt.Errorf("execution: an entry has %d parts: %w", n, codec.ErrFormat)
	}
	for i := range entry.Parts {
		if err := entry.Parts[i].decode(); err != nil {
			return nil, err
		}
	}
	return &entry, nil
}

// decode reads what is stored in Temporal's encoding.
func (p *Part) decode() (err error) {
	if p.Events, err = decode[historypb.HistoryEvent](p.Encoded); err != nil {
		return err
	}
	if p.Buffer, err = decode[historypb.HistoryEvent](p.EncodedBuffer); err != nil {
		return err
	}
	if p.Base != nil {
		if err = p.Base.decode(); err != nil {
			return err
		}
	}
	p.Admitted, err = decode[updatepb.Request](p.EncodedUpdates)
	p.Encoded, p.EncodedBuffer, p.EncodedUpdates = nil, nil, nil
	return err
}

func encode[M proto.Message](all []M) ([][]byte, error) {
	var encoded [][]byte
	for _, one := range all {
		data, err := proto.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("execution: %T: %w", one, err)
		}
		encoded = append(encoded, data)
	}
	return encoded, nil
}

func decode[M any, P interface {
	*M
	proto.Message
}](encoded [][]byte) ([]P, error) {
	var all []P
	for _, data := range encoded {
		one := P(new(M))
		if err := unmarshal(data, one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// mustMarshal encodes a message that came from a client, and so can be encoded.
func mustMarshal(message proto.Message) []byte {
	data, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return data
}

func unmarshal(data []byte, into proto.Message) error {
	if err := proto.Unmarshal(data, into); err != nil {
		return fmt.Errorf("execution: %T: %w: %w", into, err, codec.ErrFormat)
	}
	return nil
}
