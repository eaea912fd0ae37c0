package natsstats

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// ObserveConn shows how the connection of the process is, until stop is called.
func ObserveConn(conn *nats.Conn) (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		stats := conn.Stats()
		o.Bool(metrics.Connected, conn.IsConnected())
		o.Total(metrics.Reconnects, int64(stats.Reconnects))
		o.Total(metrics.Messages, int64(stats.InMsgs), metrics.DirectionReceive)
		o.Total(metrics.Messages, int64(stats.OutMsgs), metrics.DirectionTransmit)
		o.Total(metrics.Bytes, int64(stats.InBytes), metrics.DirectionReceive)
		o.Total(metrics.Bytes, int64(stats.OutBytes), metrics.DirectionTransmit)
	}, metrics.Connected, metrics.Reconnects, metrics.Messages, metrics.Bytes)
}
