package frontend_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Every request is counted once, whatever happens to it, and as an error if the caller got one.
func TestStatsCountAllPaths(t *testing.T) {
	t.Parallel()
	in := installed(t)
	subject := in.names.API("default", subjects.ThingSchedule, "describe")
	require.NoError(t, in.conn.PublishRequest(subject, in.names.Event(in.key("x"), schedule.EventDeleted), nil)) // never answered
	require.NoError(t, in.conn.Publish(subject, []byte(`{"id":"x"}`)))                                           // nobody to answer to
	in.create("nightly", "")
	for _, request := range []struct {
		header nats.Header
		body   string
	}{
		{nil, `{"id":"nightly"}`}, {nil, `{`}, {nil, `{"id":"x"}`},
		{nats.Header{"Content-Type": {"text/plain"}}, `{"id":"nightly"}`},
		{nats.Header{"Content-Type": {mediaMsgpack}}, "\xc1"},
		{nats.Header{schedule.HeaderTimeout: {"0s"}}, `{"id":"nightly"}`},
		{nats.Header{schedule.HeaderTimeout: {"soon"}}, `{"id":"nightly"}`},
		{nats.Header{"Accept": {mediaMsgpack}}, `{"id":"nightly"}`},
	} {
		in.send("describe", request.header, []byte(request.body))
	}
	in.ask("nowhere", "describe", `{"id":"nightly"}`)
	const requests, errors = 11, 9
	natstest.Eventually(t, patience, "all are counted", func() bool {
		return in.counts("describe").Requests >= requests
	})
	counts := in.counts("describe")
	assert.Equal(t, requests, counts.Requests)
	assert.Equal(t, errors, counts.Errors)
	assert.Positive(t, counts.ProcessingTime)
	assert.Equal(t, counts.ProcessingTime/requests, counts.AverageProcessingTime)
	assert.Equal(t, 1, in.counts("create").Requests)
	assert.Zero(t, in.counts("create").Errors)
}

// verbCounts is what STATS says about a verb.
type verbCounts struct {
	Requests, Errors      int
	ProcessingTime        int64 `json:"processing_time"`
	AverageProcessingTime int64 `json:"average_processing_time"`
}

func (in *installation) counts(verb string) (counts verbCounts) {
	in.t.Helper()
	var stats micro.Stats
	in.control(micro.StatsVerb, &stats)
	for _, e := range stats.Endpoints {
		if e.Name == verb {
			require.NoError(in.t, json.Unmarshal(e.Data, &counts))
		}
	}
	return counts
}
