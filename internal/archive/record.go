package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// ErrIncomplete says that a history is not that of an execution that has ended.
var ErrIncomplete = errors.New("archive: the history is not complete")

// Entry is what an archive keeps of an execution besides its history.
type Entry struct {
	// Execution is what lists show: IDs, type, status, times, memo and search attributes.
	Execution *workflowpb.WorkflowExecutionInfo
	// History is the name of the object with the history, Bytes its size, SHA256 its digest in hexadecimal, and Events how many events it has.
	History string
	Bytes   int64
	SHA256  string
	Events  int
}

// storedEntry is an [Entry] as it is stored.
type storedEntry struct {
	Execution json.RawMessage `json:"execution"`
	History   storedHistory   `json:"history"`
}

type storedHistory struct {
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Events int    `json:"events"`
}

// Marshal encodes an entry as JSON. Equal entries have the same text.
func (e *Entry) Marshal() ([]byte, error) {
	execution, err := stableJSON(e.Execution)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedEntry{execution, storedHistory{e.History, e.Bytes, e.SHA256, e.Events}})
}

// ParseEntry decodes what [Entry.Marshal] wrote. The error for anything else wraps [ErrDiffers].
func ParseEntry(data []byte) (*Entry, error) {
	var stored storedEntry
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, fmt.Errorf("%w: not an entry: %w", ErrDiffers, err)
	}
	e := &Entry{
		Execution: &workflowpb.WorkflowExecutionInfo{}, History: stored.History.Object, Bytes: stored.History.Bytes,
		SHA256: stored.History.SHA256, Events: stored.History.Events,
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(stored.Execution, e.Execution); err != nil {
		return nil, fmt.Errorf("%w: not an entry: %w", ErrDiffers, err)
	}
	return e, nil
}

// Name is the name of the entry of a namespace.
func (e *Entry) Name(namespace string) EntryName {
	of := e.Execution
	return EntryName{
		Namespace: namespace, Type: of.GetType().GetName(), WorkflowID: of.GetExecution().GetWorkflowId(),
		RunID: of.GetExecution().GetRunId(), End: of.GetCloseTime().AsTime(),
	}
}

// Archived is an execution as an archive has it: its history and its entry, encoded.
type Archived struct {
	Entry   *Entry
	History []byte
	// Index is the entry, encoded, and Object the name of its object.
	Index  []byte
	Object string
	// shelves are the names of the objects that say that there are entries like this one.
	shelves []string
}

// Encode encodes an execution of a namespace that has ended. The error wraps [ErrIncomplete] if the events are not all that it has.
func Encode(namespace string, info *workflowpb.WorkflowExecutionInfo, events []*historypb.HistoryEvent) (*Archived, error) {
	if err := complete(info, events); err != nil {
		return nil, err
	}
	history, err := MarshalHistory(&historypb.History{Events: events})
	if err != nil {
		return nil, err
	}
	run := info.GetExecution()
	a := &Archived{History: history, Entry: &Entry{
		Execution: info, History: historyName(namespace, run.GetWorkflowId(), run.GetRunId(), info.GetCloseTime().AsTime()),
		Bytes: int64(len(history)), SHA256: Digest(history), Events: len(events),
	}}
	name := a.Entry.Name(namespace)
	a.Object, a.shelves = name.Object(), name.shelves()
	a.Index, err = a.Entry.Marshal()
	return a, err
}

// complete checks that a history has all events of an execution that has ended.
func complete(info *workflowpb.WorkflowExecutionInfo, events []*historypb.HistoryEvent) error {
	run := info.GetExecution()
	switch {
	case info.GetCloseTime() == nil:
		return fmt.Errorf("%w: %s %s has not ended", ErrIncomplete, run.GetWorkflowId(), run.GetRunId())
	case int64(len(events)) != info.GetHistoryLength():
		return fmt.Errorf("%w: %d of %d events of %s %s", ErrIncomplete, len(events), info.GetHistoryLength(), run.GetWorkflowId(), run.GetRunId())
	}
	for i, event := range events {
		if event.GetEventId() != int64(i+1) {
			return fmt.Errorf("%w: event %d of %s %s has the ID %d", ErrIncomplete, i+1, run.GetWorkflowId(), run.GetRunId(), event.GetEventId())
		}
	}
	return nil
}

// MarshalHistory encodes a history as Temporal's JSON. Equal histories have the same text.
func MarshalHistory(h *historypb.History) ([]byte, error) { return stableJSON(h) }

// ParseHistory decodes a history.
func ParseHistory(data []byte) (*historypb.History, error) {
	history := &historypb.History{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, history); err != nil {
		return nil, fmt.Errorf("archive: not a history: %w", err)
	}
	return history, nil
}

// Digest is the SHA-256 of the content of an object, in hexadecimal.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// stableJSON is the JSON of a message. Equal messages have the same text, which package protojson does not promise: its builds differ in their spaces.
func stableJSON(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b.Bytes(), nil
}
