package wire

import (
	"encoding/binary"
	"iter"
	"time"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/schedule"
)

// EndedRuns are runs of a schedule that have ended, in the order in which that was recorded. They are packed: a record that holds
// them is written twice for each action, and they are read when somebody asks.
//
// Each is its request ID and what [codec.Marshal] makes of the rest of it, either with its length before it as a uvarint. The schedule's
// ID is not part of it. A value is never changed in place, so that copies may share it. Whatever the bytes are, reading them ends:
// what cannot be read is left out, for it can only have been written by another release.
type EndedRuns []byte

// packedRun is a [schedule.Run] as it is packed: the compiler sees to it that it has the same fields. Names are short: there are ten runs in
// each record.
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
	schedule.Outcome
}

// With returns these runs and a further one after them; of more than limit, the last.
func (e EndedRuns) With(run *schedule.Run, limit int) EndedRuns {
	packed, err := pack(run)
	if err != nil {
		return e // it never is: Marshal refuses long lists, and a run has none
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

// Has reports whether the run of a request is among them.
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

// each goes through the request IDs and the runs packed.
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

// nextField returns the first field of data and what follows it; of data that does not begin with a whole one, nothing.
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

// Runs returns the runs that the record knows: those that have ended last, then those in progress. Their ScheduleID is empty.
func (s *InvokerState) Runs() []schedule.Run {
	runs := s.Ended.Runs()
	for i := range s.Starts {
		if start := &s.Starts[i]; !start.Waiting() {
			runs = append(runs, NewRun(start))
		}
	}
	return runs
}

// Start returns the start of a request, to read or to change; nil if the record has none. Ended runs have left the starts.
func (s *InvokerState) Start(requestID string) *BufferedStart {
	for i := range s.Starts {
		if s.Starts[i].RequestID == requestID {
			return &s.Starts[i]
		}
	}
	return nil
}

// LastNominal returns the newest nominal time, of those that were due up to a mark, of an automated start that the record
// knows; zero if there is none.
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

// LastAction returns the due time of the newest action that the record knows: of those that wait or run, and of the runs that have
// ended. It is zero if there is none.
func (s *InvokerState) LastAction() time.Time {
	last := s.LastEnded()
	for i := range s.Starts {
		last = later(last, s.Starts[i].Actual)
	}
	return last
}

// LastEnded returns the newest due time of the runs that have ended; zero if there is none. Of a record that an earlier release has
// written it is that of the runs that have ended last.
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
