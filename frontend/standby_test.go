package frontend_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
)

// atStandby makes a frontend one of a standby.
func atStandby(config *frontend.Config) {
	config.Elsewhere = &site.Elsewhere{Here: "west", Active: "east"}
}

// ends returns the last sequence of each stream with something that lasts.
func (in *installation) ends() map[string]uint64 {
	ends := map[string]uint64{}
	for _, name := range in.names.MirroredStreams(in.store.Shards()) {
		last, err := bus.LeaderSequence(in.t.Context(), in.js, name)
		require.NoError(in.t, err)
		ends[name] = last
	}
	return ends
}

// TestStandbyRefusesWhatWrites: at a standby, each verb that changes something is refused before it is looked at, and stores nothing. The others answer
// as at the active site.
func TestStandbyRefusesWhatWrites(t *testing.T) {
	t.Parallel()
	in := install(t)
	stop := in.run()
	in.create("s", "")
	described := string(in.ask("default", "describe", `{"id":"s"}`).Data)
	stop()
	for _, config := range in.names.StreamConfigs(in.store.Shards(), 1) {
		if !slices.Contains(in.names.MirroredStreams(in.store.Shards()), config.Name) {
			require.NoError(t, in.js.DeleteStream(t.Context(), config.Name)) // a standby has none
		}
	}
	in.run(atStandby)
	before := in.ends()

	good := map[string]string{
		"schedule.create": createBody("new", ""), "schedule.update": createBody("s", ""), "schedule.trigger": `{"id":"s"}`, "schedule.pause": `{"id":"s"}`,
		"schedule.delete": `{"id":"s"}`, "calendar.create": `{"name":"c","dates":["2030-01-01"]}`, "bulk.start": `{"operation":"pause","all":true}`,
		"schedule.describe": `{"id":"s"}`, "schedule.history": `{"id":"s"}`, "schedule.runs": `{"id":"s"}`, "namespace.describe": `{}`, "schedule.list": `{}`,
		"namespace.create": `{}`, "namespace.freeze": `{"reason":"r"}`, "namespace.delete": `{"force":true}`,
	}
	verbs, err := frontend.Verbs()
	require.NoError(t, err)
	for _, verb := range verbs {
		name := verb.Thing + "." + verb.Name
		for _, body := range []string{`{}`, good[name]} {
			reply, err := in.conn.Request(in.names.API("default", verb.Thing, verb.Name), []byte(body), patience)
			require.NoError(t, err, name)
			_, err = decode[map[string]any](reply)
			if !verb.Changes {
				assert.NotContains(t, []schedule.Code{schedule.CodeFailedPrecondition, schedule.CodeUnavailable, schedule.CodeInternal}, schedule.CodeOf(err), "%s: %v", name, err)
				if body != "" && body == good[name] {
					assert.NoError(t, err, name)
				}
				continue
			}
			assert.EqualError(t, err, `the site "west" is a standby: ask the site "east", which is active`, name)
			assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err), name)
		}
	}
	assert.Equal(t, before, in.ends(), "nothing is stored")
	assert.JSONEq(t, described, string(in.ask("default", "describe", `{"id":"s"}`).Data))
	assert.Contains(t, string(in.ask("default", "list", `{}`).Data), `"s"`)
}

// TestStandbyServesNoWorkers: nobody listens to what untrusted workers ask for, which would write.
func TestStandbyServesNoWorkers(t *testing.T) {
	t.Parallel()
	in := installed(t, atStandby)
	_, err := in.conn.Request(in.names.WorkerConsumerRequest("default", "q"), nil, patience)
	assert.ErrorIs(t, err, nats.ErrNoResponders)
}
