package scheduleproto_test

import (
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)
