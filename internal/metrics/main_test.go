package metrics_test

import (
	"testing"

	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// reader collects what this process records.
var reader = sdk.NewManualReader()

// TestMain sets the meter provider, of which a process has only one.
func TestMain(m *testing.M) {
	otel.SetMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
	natstest.Main(m)
}
