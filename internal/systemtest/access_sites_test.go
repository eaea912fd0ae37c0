package systemtest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestReplicationMay: the permissions of deploy/nats let the role replication change the streams of its own site, and only read those of the other one.
func TestReplicationMay(t *testing.T) {
	f := newFence(t)
	_, service, _ := f.connect("service")
	names := subjects.Default()
	_, err := topology.Ensure(t.Context(), service, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	conn, js, refused := f.connect("replication")
	require.NoError(t, site.NewStore(js, names).Save(t.Context(), site.Linked("east", "west", time.Now()), 0, 1))
	_, err = js.CreateStream(t.Context(), names.DivergedConfig(1))
	require.NoError(t, err)
	config := names.DivergedConfig(1)
	config.Subjects = []string{names.Fenced(config.Name)}
	_, err = js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), config.Name))
	transfer := names.Transfer(0)
	_, err = js.CreateConsumer(t.Context(), transfer.Stream, transfer.Config)
	require.NoError(t, err)
	requireReads(t, conn, names)
	require.NoError(t, conn.Flush())
	require.Empty(t, refused)
	requireRefused(t, conn, refused, replicationMayNot())
}

// requireReads reads the streams of another site in all the ways in which the role replication does. Nothing answers.
func requireReads(t *testing.T, conn *nats.Conn, names subjects.Names) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	there, err := site.At(conn, "west")
	require.NoError(t, err)
	_, err = topology.Read(ctx, there, names)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	_, err = there.Stream(ctx, names.ActionStream())
	require.ErrorIs(t, err, nats.ErrNoResponders)
	transfer := names.Transfer(0)
	_, err = there.Consumer(ctx, transfer.Stream, transfer.Config.Durable)
	require.ErrorIs(t, err, nats.ErrNoResponders)
	_, _, err = bus.NewReader(there).Since(ctx, names.ActionStream(), 0, 1)
	require.ErrorIs(t, err, nats.ErrNoResponders)
}

// replicationMayNot are subjects on which the role replication may not publish. Its own site is under the name of its domain, too, where it may do no more than at the other one.
func replicationMayNot() []string {
	all := []string{"$SYS.REQ.SERVER.PING", "$O.carillon-archive.M.x", "$SRV.PING", "elsewhere"}
	for _, verb := range []string{
		"STREAM.RESTORE.CARILLON_EVENTS", "STREAM.SNAPSHOT.CARILLON_EVENTS", "STREAM.LEADER.STEPDOWN.CARILLON_EVENTS", "STREAM.PEER.REMOVE.CARILLON_EVENTS",
		"CONSUMER.LEADER.STEPDOWN.CARILLON_EVENTS.x", "SERVER.REMOVE", "SERVER.STREAM.MOVE.CARILLON.CARILLON_EVENTS", "ACCOUNT.PURGE.CARILLON",
		"ACCOUNT.STREAM.MOVE.CARILLON.CARILLON_EVENTS", "META.LEADER.STEPDOWN",
	} {
		all = append(all, "$JS.API."+verb, "$JS.west.API."+verb, "$JS.east.API."+verb)
	}
	for _, verb := range []string{
		"STREAM.CREATE.X", "STREAM.UPDATE.CARILLON_EVENTS", "STREAM.DELETE.CARILLON_EVENTS", "STREAM.PURGE.CARILLON_EVENTS", "STREAM.MSG.DELETE.CARILLON_EVENTS",
		"STREAM.LIST", "STREAM.NAMES", "STREAM.TEMPLATE.DELETE.X", "INFO",
		"CONSUMER.CREATE.CARILLON_EVENTS", "CONSUMER.CREATE.CARILLON_EVENTS.x", "CONSUMER.CREATE.CARILLON_EVENTS.x.carillon.event.a.b",
		"CONSUMER.DURABLE.CREATE.CARILLON_EVENTS.x", "CONSUMER.DELETE.CARILLON_EVENTS.x", "CONSUMER.PAUSE.CARILLON_EVENTS.x", "CONSUMER.RESET.CARILLON_EVENTS.x",
		"CONSUMER.UNPIN.CARILLON_EVENTS.x", "CONSUMER.MSG.NEXT.CARILLON_EVENTS.x", "CONSUMER.LIST.CARILLON_EVENTS", "CONSUMER.NAMES.CARILLON_EVENTS",
	} {
		all = append(all, "$JS.west.API."+verb, "$JS.east.API."+verb)
	}
	return all
}

// requireRefused publishes on subjects. The server must refuse each.
func requireRefused(t *testing.T, conn *nats.Conn, refused <-chan error, subjects []string) {
	t.Helper()
	for _, subject := range subjects {
		require.NoError(t, conn.Publish(subject, nil))
		require.NoError(t, conn.Flush())
		select {
		case err := <-refused:
			require.ErrorIs(t, err, nats.ErrPermissionViolation, subject)
			require.ErrorContains(t, err, `"`+subject+`"`)
		case <-time.After(time.Second): // the server has answered the flush
			assert.Fail(t, "it is not refused", subject)
		}
	}
}

// TestServiceMayAskTheOtherSite: the permissions of deploy/nats let the roles ask another site for its record, and for nothing else.
func TestServiceMayAskTheOtherSite(t *testing.T) {
	f := newFence(t)
	conn, js, refused := f.connect("service")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := site.NewStore(js, subjects.Default()).Peer(ctx, "west")
	require.ErrorIs(t, err, nats.ErrNoResponders, "it was asked, and there is no such site")
	require.Empty(t, refused)
	requireRefused(t, conn, refused, []string{
		"$JS.west.API.STREAM.MSG.GET.KV_carillon-state-0", "$JS.west.API.STREAM.DELETE.KV_carillon-site", "$JS.west.API.STREAM.INFO.KV_carillon-site",
	})
}
