package roles_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

// TestWorkerReceivesCallbacks: a worker receives callbacks as long as it runs.
func TestWorkerReceivesCallbacks(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "worker", dialer(server.ClientURL()))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	address := "127.0.0.1:" + strconv.Itoa(freePort(t))
	callbacks, err := builtin.NewCallbacks("http://" + address)
	require.NoError(t, err)
	config := roles.WorkerConfig{
		Config:         worker.Config{TaskQueue: "q", Logger: natstest.Logger(t)},
		Actions:        builtin.Config{Callbacks: callbacks},
		CallbackListen: address,
	}
	role, err := roles.Worker(conn, config)
	require.NoError(t, err)
	_, err = roles.Worker(conn, config)
	require.ErrorContains(t, err, "listen for callbacks")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- role.Run(ctx) }()
	ask := func() (int, error) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Post("http://"+address+"/unknown", "", strings.NewReader(""))
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	status, err := ask()
	require.NoError(t, err)
	assert.Equal(t, http.StatusNotFound, status)
	cancel()
	require.NoError(t, <-ended)
	_, err = ask()
	require.Error(t, err)
}

// TestWorkerOfAPlainConfig: a worker with a plain configuration receives no callbacks.
func TestWorkerOfAPlainConfig(t *testing.T) {
	t.Parallel()
	server := natstest.Server(t)
	conn, err := roles.Connect(t.Context(), natstest.Logger(t), "worker", dialer(server.ClientURL()))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = roles.Worker(conn, roles.WorkerConfig{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})
	role, err := roles.Worker(conn, roles.WorkerConfig{Config: worker.Config{TaskQueue: "q", DrainTimeout: time.Second}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, role.Run(ctx))
}
