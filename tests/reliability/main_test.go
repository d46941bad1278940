package reliability

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestMain sets what all runs share. Each makes much garbage and keeps little, so that it pays to collect it less often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	ctrl.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // one waits until some time after the last error of any run, and each run has a time of its own
	os.Exit(m.Run())
}
