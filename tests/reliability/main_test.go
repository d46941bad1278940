package reliability

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestMain sets what all runs share. Each makes much garbage and keeps little, so that it pays to collect it less often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
