package site_test

import (
	"testing"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestMain(m *testing.M) { natstest.Main(m) }
