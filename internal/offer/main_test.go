package offer

import (
	"testing"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestMain(m *testing.M) { natstest.Main(m) }
