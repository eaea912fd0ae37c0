package call_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// serveHere serves without a subject, so that nothing comes by NATS.
func serveHere(t *testing.T, handle call.Handler) *call.Server {
	t.Helper()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	server, err := call.Serve(t.Context(), call.Config{Conn: bus.Plain{Conn: conn}, Handle: handle, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	return server
}

// TestHereIsNotByNATS: the answer is there although nobody could send the request.
func TestHereIsNotByNATS(t *testing.T) {
	t.Parallel()
	server := serveHere(t, func(_ context.Context, subject string, data []byte) (proto.Message, error) {
		return nil, serviceerror.NewNotFound(subject + " " + string(data))
	})
	defer server.Close()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	conn.Close()
	err := call.AskBytes(t.Context(), direct{conn, server}, "s", []byte("d"), nil)
	var missing *serviceerror.NotFound
	require.ErrorAs(t, err, &missing)
	assert.EqualError(t, err, "s d")
}

// TestWhoStopsWaitingHereEndsTheWork: the caller learns at once that it has stopped waiting, and the handler, too.
func TestWhoStopsWaitingHereEndsTheWork(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := serveHere(t, func(work context.Context, _ string, _ []byte) (proto.Message, error) {
		cancel()
		<-work.Done()
		return nil, work.Err()
	})
	defer server.Close()
	_, err := server.Here(ctx, nats.NewMsg("s"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = server.Here(ctx, nats.NewMsg("s"))
	require.ErrorIs(t, err, context.Canceled, "nothing begins")
}

// TestCloseWaitsForWorkHere: a server answers what it has admitted, and then nobody is there any more, as on a subject without a server.
func TestCloseWaitsForWorkHere(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan struct{}), make(chan struct{})
	server := serveHere(t, func(context.Context, string, []byte) (proto.Message, error) {
		close(began)
		<-goOn
		return nil, nil
	})
	answered, closed := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := server.Here(t.Context(), nats.NewMsg("s"))
		answered <- err
	}()
	<-began
	go func() {
		server.Close()
		close(closed)
	}()
	natstest.Eventually(t, natstest.Patience, "nobody is there", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := server.Here(ctx, nats.NewMsg("s"))
		return errors.Is(err, nats.ErrNoResponders)
	})
	select {
	case <-closed:
		t.Error("it has not waited")
	default:
	}
	close(goOn)
	require.NoError(t, <-answered)
	<-closed
}
