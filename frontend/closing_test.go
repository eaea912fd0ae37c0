package frontend_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// closing has buckets in which a generator is about to close a schedule when the record of a trigger is written.
type closing struct {
	kv.Buckets
	trigger atomic.Bool
	before  func(kv.Record[wire.Definition])
	read    func() kv.Record[wire.Definition]
}

func (c *closing) Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error) {
	if strings.Contains(key, ".backfill.") && !c.trigger.Swap(true) {
		c.before(c.read())
	}
	return c.Buckets.Update(ctx, bucket, key, data, revision)
}

// TestATriggerOfAScheduleThatCloses: the trigger either keeps the schedule open or is told that it is gone. A generator that has
// not seen the trigger cannot close the schedule after that.
func TestATriggerOfAScheduleThatCloses(t *testing.T) {
	t.Parallel()
	ended := `{"id":"once","action":{"type":"t","taskQueue":"q"},"spec":{"at":["2020-01-01T00:00:00Z"]}}`
	for name, test := range map[string]struct {
		before func(*installation, kv.Record[wire.Definition])
		want   schedule.Code
	}{
		"it is about to be closed": {before: func(in *installation, d kv.Record[wire.Definition]) {
			d.Value.Closing = true
			_, err := kv.Put(in.t.Context(), in.store, kv.Definition(d.Value.Key()), &d.Value, d.Revision)
			require.NoError(in.t, err)
		}},
		"it has been closed": {before: func(in *installation, d kv.Record[wire.Definition]) {
			require.NoError(in.t, kv.Delete(in.t.Context(), in.store, kv.Definition(d.Value.Key()), d.Revision))
		}, want: schedule.CodeNotFound},
		"another one is there": {before: func(in *installation, d kv.Record[wire.Definition]) {
			d.Value.Incarnation = "another"
			_, err := kv.Put(in.t.Context(), in.store, kv.Definition(d.Value.Key()), &d.Value, d.Revision)
			require.NoError(in.t, err)
		}, want: schedule.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := install(t)
			buckets, err := kv.OpenBuckets(t.Context(), in.js, in.names, in.store.Shards())
			require.NoError(t, err)
			read := func() kv.Record[wire.Definition] {
				record, err := kv.GetLeader(t.Context(), in.store, kv.Definition(in.key("once")))
				require.NoError(t, err)
				return record
			}
			in.run(func(c *frontend.Config) {
				c.Store = kv.NewStore(&closing{Buckets: buckets, read: read, before: func(d kv.Record[wire.Definition]) { test.before(in, d) }},
					in.names, in.store.Shards())
			})
			_, err = answer[schedule.Description](in, "create", ended)
			require.NoError(t, err)
			_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"once","requestId":"r1"}`)
			if test.want != "" {
				require.Equal(t, test.want, schedule.CodeOf(err))
				return
			}
			require.NoError(t, err)
			require.False(t, read().Value.Closing)
		})
	}
}
