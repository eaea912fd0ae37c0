package schedules

import (
	"testing"

	"github.com/carillon-scheduler/carillon/internal/natstest"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func TestMain(m *testing.M) { natstest.Main(m) }
