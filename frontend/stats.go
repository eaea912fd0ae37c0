package frontend

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// verbStats counts the requests of one verb. It is the data of the endpoint in the reply to a STATS request: the numbers
// micro keeps itself end where a request is handed to its goroutine.
type verbStats struct {
	mu      sync.Mutex
	current verbCounts
}

// verbCounts is JSON in docs/api.md. Times are in nanoseconds, as those of micro.
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
