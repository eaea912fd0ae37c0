package frontend

import (
	"cmp"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natsstats"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// count counts a request that has been answered, or refused before anybody looked at it.
func (e *endpoint) count(took time.Duration, failure *schedule.Error) {
	e.stats.count(took, failure)
	method, code := e.method(), metrics.CodeOK
	if failure != nil {
		code = string(failure.Code)
	}
	metrics.APIRequests.Add(metrics.Untraced(), 1, method, code)
	metrics.APIDuration.RecordTime(metrics.Untraced(), took, method)
}

// method is what metrics call the endpoint: "schedule.create".
func (e *endpoint) method() string { return cmp.Or(e.thing, subjects.ThingSchedule) + "." + e.verb }

// observe shows how JetStream is, until stop is called.
func (f *Frontend) observe() (stop func()) {
	return natsstats.ObserveJetStream(natsstats.Config{
		JS: f.config.JS, Names: f.config.Names, Shards: f.config.Store.Shards(), Logger: f.config.Logger, Now: f.config.Now,
	})
}
