package console_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

// TestConsoleOfAStandby: each page says which site is active, and shows what is stored. Forms and the HTTP API refuse changes.
func TestConsoleOfAStandby(t *testing.T) {
	t.Parallel()
	log, names := natstest.Logger(t), natstest.Names(t)
	conn, err := roles.Connect(t.Context(), log, "test", func(options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(natstest.Shared(t).ClientURL(), options...)
	})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = roles.Open(t.Context(), conn, names, topology.Settings{Shards: 1}, roles.Options{Logger: log})
	require.NoError(t, err)
	cluster, err := roles.Open(t.Context(), conn, names, topology.Settings{}, roles.Options{
		Logger: log, Version: "1.2.3", Elsewhere: &site.Elsewhere{Here: "west", Active: "east"},
	})
	require.NoError(t, err)
	all := &installation{cluster: cluster}
	doors, address := all.doors(t)
	front, ready, err := cluster.Frontend(roles.SearchOptions{Dir: t.TempDir()})
	require.NoError(t, err)
	history, err := cluster.History()
	require.NoError(t, err)
	run(t, func(ctx context.Context) error {
		return roles.Supervise(ctx, log, patience, append(doors, front), roles.Stage{history}, roles.Stage{conn.Role()})
	})
	<-ready
	v := &visitor{t: t, url: "http://" + address, http: &http.Client{Timeout: patience}, names: names, conn: conn.Conn}
	const banner = "This is the site west, a standby."
	for _, path := range []string{"now", "schedules", "runs", "jobs", "executions", "calendars", "namespaces", "cluster", "dead-letters"} {
		shown := v.open("/ns/default/" + path)
		assert.Equal(t, http.StatusOK, shown.status, path)
		assert.Contains(t, shown.body, banner, path)
	}
	for _, path := range []string{"new-schedule", "jobs", "dead-letters/all", "dead-letters/1/delete", "namespace/freeze", "new-namespace", "schedules/s/pause"} {
		refused := v.submit("/ns/default/"+path, nil)
		assert.Equal(t, http.StatusConflict, refused.status, path)
		assert.Contains(t, refused.body, "ask the site", path)
	}
	answer := v.do(http.MethodPost, "/namespaces/default/schedules", `{"id":"s","spec":{"intervals":[{"every":"1h"}]},"action":{"type":"noop","taskQueue":"q"}}`)
	assert.Equal(t, http.StatusConflict, answer.status)
	assert.Contains(t, answer.body, "failed_precondition")
	assert.Equal(t, http.StatusOK, v.do(http.MethodGet, "/namespaces/default/schedules", "").status)
}
