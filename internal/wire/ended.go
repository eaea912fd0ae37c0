package wire

import (
	"encoding/binary"
	"iter"
	"time"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/schedule"
)

// EndedRuns are ended runs of a schedule, in the order in which their ends were recorded. They are packed, because their record is written
// twice for each action, and they are read only when somebody asks.
//
// Each run is its request ID followed by the [codec.Marshal] form of its other fields; each of the two has its length in front, as a
// uvarint. The ID of the schedule is omitted. A value is never changed in place, so copies may share it. Reading ends for any bytes: runs
// that cannot be read are left out, because another release must have written them.
type EndedRuns []byte

// packedRun is the packed form of a [schedule.Run]. The compiler makes sure that it has the same fields. Names are short, because each
// record has ten runs.
type packedRun struct {
	WorkflowID  string          `json:"w"`
	RunID       string          `json:"r"` // left out if it is derived from the request ID
	RequestID   string          `json:"-"` // stands before it
	NominalTime time.Time       `json:"n"`
	DueTime     time.Time       `json:"d"`
	StartTime   time.Time       `json:"s"`
	CodeTime    time.Time       `json:"c"`
	CloseTime   time.Time       `json:"e"`
	Status      schedule.Status `json:"t"`
	Manual      bool            `json:"m"`
	ScheduleID  string          `json:"-"`
	Source      string          `json:"o"`
	TaskQueue   string          `json:"q"`
	Identity    string          `json:"i"`
	Attempt     int             `json:"a"`
	Worker      string          `json:"k"`

	ActionKind schedule.ActionKind `json:"p"`
	schedule.Outcome
}

// With returns these runs with a further one at the end. If there are more than limit, it keeps the last ones.
func (e EndedRuns) With(run *schedule.Run, limit int) EndedRuns {
	packed, err := pack(run)
	if err != nil {
		return e // cannot happen: Marshal refuses long lists, and a run has none
	}
	all := make(EndedRuns, 0, len(e)+len(run.RequestID)+len(packed)+2*binary.MaxVarintLen16)
	skip := e.Len() + 1 - limit
	for requestID, packed := range e.each() {
		if skip--; skip < 0 {
			all = appendField(appendField(all, requestID), packed)
		}
	}
	return appendField(appendField(all, []byte(run.RequestID)), packed)
}

// Len returns how many runs there are.
func (e EndedRuns) Len() int {
	n := 0
	for range e.each() {
		n++
	}
	return n
}

// Has reports whether the runs include the run of a request.
func (e EndedRuns) Has(requestID string) bool {
	for id := range e.each() {
		if string(id) == requestID {
			return true
		}
	}
	return false
}

// Runs returns the runs. Their ScheduleID is empty.
func (e EndedRuns) Runs() []schedule.Run {
	var runs []schedule.Run
	for requestID, packed := range e.each() {
		if run, err := unpack(string(requestID), packed); err == nil {
			runs = append(runs, run)
		}
	}
	return runs
}

// each iterates over the request IDs and the packed runs.
func (e EndedRuns) each() iter.Seq2[[]byte, []byte] {
	return func(yield func(requestID, packed []byte) bool) {
		for rest := e; len(rest) > 0; {
			var requestID, packed []byte
			requestID, rest = nextField(rest)
			packed, rest = nextField(rest)
			if packed == nil || !yield(requestID, packed) {
				return
			}
		}
	}
}

func appendField(data, field []byte) []byte {
	return append(binary.AppendUvarint(data, uint64(len(field))), field...)
}

// nextField returns the first field of data and the rest. If data does not begin with a complete field, it returns nothing.
func nextField(data []byte) (field, rest []byte) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil
	}
	end := n + int(size)
	return data[n:end:end], data[end:]
}

func pack(run *schedule.Run) ([]byte, error) {
	p := packedRun(*run)
	if p.RunID == RunID(run.RequestID) {
		p.RunID = ""
	}
	return codec.Marshal(&p)
}

func unpack(requestID string, packed []byte) (schedule.Run, error) {
	var p packedRun
	if err := codec.Unmarshal(packed, &p); err != nil {
		return schedule.Run{}, err
	}
	p.RequestID = requestID
	if p.RunID == "" {
		p.RunID = RunID(requestID)
	}
	return schedule.Run(p), nil
}

// Runs returns the runs that the record knows: the last ended runs, then the runs in progress. Their ScheduleID is empty.
func (s *InvokerState) Runs() []schedule.Run {
	runs := s.Ended.Runs()
	for i := range s.Starts {
		if start := &s.Starts[i]; !start.Waiting() {
			runs = append(runs, NewRun(start))
		}
	}
	return runs
}

// Start returns the start of a request, to read or to change; nil if the record has none. Ended runs are no longer among the starts.
func (s *InvokerState) Start(requestID string) *BufferedStart {
	for i := range s.Starts {
		if s.Starts[i].RequestID == requestID {
			return &s.Starts[i]
		}
	}
	return nil
}

// LastNominal returns the newest nominal time of the known automated starts that were due up to a mark; zero if there is none.
func (s *InvokerState) LastNominal(mark time.Time) time.Time {
	var last time.Time
	newer := func(source string, nominal, actual time.Time) {
		if source == schedule.SourceAuto && !actual.After(mark) && nominal.After(last) {
			last = nominal
		}
	}
	for i := range s.Starts {
		newer(s.Starts[i].Source, s.Starts[i].Nominal, s.Starts[i].Actual)
	}
	for _, run := range s.Ended.Runs() {
		newer(run.Source, run.NominalTime, run.DueTime)
	}
	return last
}

// LastAction returns the newest due time of all known actions: waiting, running and ended. It is zero if there is none.
func (s *InvokerState) LastAction() time.Time {
	last := s.LastEnded()
	for i := range s.Starts {
		last = later(last, s.Starts[i].Actual)
	}
	return last
}

// LastEnded returns the newest due time of the ended runs; zero if there is none. In a record of an earlier release, it knows only the last
// ended runs.
func (s *InvokerState) LastEnded() time.Time {
	last := s.LastDue
	if !last.IsZero() {
		return last
	}
	for _, run := range s.Ended.Runs() {
		last = later(last, run.DueTime)
	}
	return last
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
