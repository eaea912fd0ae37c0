package natsstats

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// ObserveConns shows the combined state of the connections of the process, as conns returns them, until stop is called. A server
// that goes away ends all of them, which counts once.
func ObserveConns(conns func() []*nats.Conn) (stop func()) {
	return metrics.Observe(func(_ context.Context, o metrics.Observer) {
		connected, stats := true, nats.Statistics{}
		for _, conn := range conns() {
			connected = connected && conn.IsConnected()
			one := conn.Stats()
			stats.Reconnects = max(stats.Reconnects, one.Reconnects)
			stats.InMsgs += one.InMsgs
			stats.OutMsgs += one.OutMsgs
			stats.InBytes += one.InBytes
			stats.OutBytes += one.OutBytes
		}
		o.Bool(metrics.Connected, connected)
		o.Total(metrics.Reconnects, int64(stats.Reconnects))
		o.Total(metrics.Messages, int64(stats.InMsgs), metrics.DirectionReceive)
		o.Total(metrics.Messages, int64(stats.OutMsgs), metrics.DirectionTransmit)
		o.Total(metrics.Bytes, int64(stats.InBytes), metrics.DirectionReceive)
		o.Total(metrics.Bytes, int64(stats.OutBytes), metrics.DirectionTransmit)
	}, metrics.Connected, metrics.Reconnects, metrics.Messages, metrics.Bytes)
}
