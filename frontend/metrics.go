package frontend

import (
	"cmp"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natsstats"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// count counts a request that was answered, or refused before any work on it.
func (e *endpoint) count(took time.Duration, failure *schedule.Error) {
	e.stats.count(took, failure)
	method, code := e.method(), metrics.CodeOK
	if failure != nil {
		code = string(failure.Code)
	}
	metrics.APIRequests.Add(metrics.Untraced(), 1, method, code)
	metrics.APIDuration.RecordTime(metrics.Untraced(), took, method)
}

// method is the name of the endpoint in metrics: "schedule.create".
func (e *endpoint) method() string { return cmp.Or(e.thing, subjects.ThingSchedule) + "." + e.verb }

// observe shows the state of JetStream as metrics until stop is called.
func (f *Frontend) observe() (stop func()) {
	return natsstats.ObserveJetStream(natsstats.Config{
		JS: f.config.JS, Names: f.config.Names, Shards: f.config.Store.Shards(), Logger: f.config.Logger, Now: f.config.Now,
	})
}

// verbStats counts the requests of one verb. It is the data of the endpoint in the reply to a STATS request, because the numbers
// that micro keeps stop where a request is handed to its goroutine.
type verbStats struct {
	mu      sync.Mutex
	current verbCounts
}

// verbCounts is documented as JSON in docs/api.md. Times are in nanoseconds, like those of micro.
type verbCounts struct {
	Requests              int64         `json:"requests"`
	Errors                int64         `json:"errors"`
	LastError             string        `json:"last_error,omitempty"`
	ProcessingTime        time.Duration `json:"processing_time"`
	AverageProcessingTime time.Duration `json:"average_processing_time"`
}

func (s *verbStats) count(took time.Duration, err *schedule.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Requests++
	s.current.ProcessingTime += took
	s.current.AverageProcessingTime = s.current.ProcessingTime / time.Duration(s.current.Requests)
	if err != nil {
		s.current.Errors++
		s.current.LastError = string(err.Code) + ": " + err.Error()
	}
}

func (s *verbStats) counts() verbCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}
