package schedules

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
