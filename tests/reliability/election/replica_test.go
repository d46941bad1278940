package election

import (
	"context"
	"encoding/pem"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// restartDelay is how long a replica is down after its process has exited.
	restartDelay   = time.Second
	leaseNamespace = "operators"
)

// replicas contains two replicas of the operator. The processes of replica 0 have even numbers, and the processes of replica 1 have odd
// numbers.
type replicas struct {
	program, folder string
	config          *rest.Config
	journal         journal
	networks        [2]*network

	lock     sync.Mutex
	commands [2]*exec.Cmd
}

// newReplicas builds the operator. The replicas' requests have the operator's permissions.
func newReplicas(t *testing.T, config *rest.Config, seed uint64) *replicas {
	t.Helper()
	r := &replicas{folder: t.ArtifactDir(), program: filepath.Join(t.TempDir(), "manager"), config: rest.CopyConfig(config)}
	r.config.Impersonate.UserName = controlplane.OperatorUser
	r.journal.began = time.Now()
	for i := range r.networks {
		r.networks[i] = &network{random: rand.New(rand.NewPCG(seed, uint64(i)))}
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", r.program, "github.com/echo-operator/echo-operator")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return r
}

// setWeather sets the weather for both replicas' requests.
func (r *replicas) setWeather(w weather) {
	for _, n := range r.networks {
		n.set(w)
	}
}

// start runs both replicas, and restarts processes that have exited, until the caller calls stop. stop returns when all processes have
// exited.
func (r *replicas) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for replica := range r.networks {
		running.Go(func() {
			for process := 2 + replica; ctx.Err() == nil; process += 2 {
				if err := r.runProcess(ctx, t, process); err != nil {
					t.Log(err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(restartDelay):
				}
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// runProcess runs a process until it exits, or until ctx is done.
func (r *replicas) runProcess(ctx context.Context, t *testing.T, process int) error {
	l, err := newLink(r.config, process, r.networks[process%2], &r.journal)
	if err != nil {
		return err
	}
	server := l.serve()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig, err := r.writeKubeconfig(server, process)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(r.folder, "process-"+strconv.Itoa(process)+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // an error here does not affect the test
	command := exec.CommandContext(ctx, r.program, "--leader-elect", "--leader-election-namespace="+leaseNamespace,
		"--health-probe-bind-address=0", "--metrics-bind-address=0", "--zap-encoder=console")
	command.Env = []string{"KUBECONFIG=" + kubeconfig, "RELATED_IMAGE_ECHO_SERVER=" + controlplane.EchoServerImage}
	command.Stderr = log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if err := command.Start(); err != nil {
		return err
	}
	r.lock.Lock()
	r.commands[process%2] = command
	r.lock.Unlock()
	_ = command.Wait() // the log contains the reason
	t.Logf("%6.1f s: process %d ended: %s", time.Since(r.journal.began).Seconds(), process, command.ProcessState)
	return nil
}

func (r *replicas) writeKubeconfig(server *httptest.Server, process int) (string, error) {
	config := clientcmdapi.NewConfig()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: authority}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(r.folder, "kubeconfig-"+strconv.Itoa(process))
	return path, clientcmd.WriteToFile(*config, path)
}

// terminate stops a replica's process. After restartDelay, the replica starts a new process.
func (r *replicas) terminate(replica int) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.commands[replica].Process.Signal(syscall.SIGTERM)
}
