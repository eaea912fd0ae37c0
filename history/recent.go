package history

import (
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
)

// maxRecent bounds the bytes of the events of one execution that are kept in memory. leastRecent of them stay: more than one task can bring.
const (
	maxRecent   = 1 << 20
	leastRecent = maxRecent / 4 * 3
)

// recent are the last events of a run, without a gap. The events are never changed.
type recent struct {
	runID  string
	events []*historypb.HistoryEvent
	bytes  int64
}

// add adds what an entry says about the newest run.
func (r *recent) add(entry *execution.Entry) {
	part := &entry.Parts[len(entry.Parts)-1]
	if part.RunID != r.runID {
		*r = recent{runID: part.RunID}
	}
	for _, event := range part.Events {
		if n := len(r.events); n > 0 && r.events[n-1].GetEventId()+1 != event.GetEventId() {
			*r = recent{runID: part.RunID}
		}
		r.events = append(r.events, event)
		r.bytes += int64(proto.Size(event))
	}
	if r.bytes > maxRecent {
		r.shrink()
	}
}

// shrink forgets the oldest events, and more than it must, so that it is not called again at once.
func (r *recent) shrink() {
	first := 0
	for ; r.bytes > leastRecent; first++ {
		r.bytes -= int64(proto.Size(r.events[first]))
	}
	r.events = append([]*historypb.HistoryEvent(nil), r.events[first:]...)
}

// span returns the events of a run with the IDs from one to another; false if they are not all here.
func (r *recent) span(runID string, from, to int64) ([]*historypb.HistoryEvent, bool) {
	if from > to {
		return nil, true
	}
	if r.runID != runID || len(r.events) == 0 {
		return nil, false
	}
	first := r.events[0].GetEventId()
	if from < first || to-first >= int64(len(r.events)) {
		return nil, false
	}
	return r.events[from-first : to-first+1 : to-first+1], true
}
