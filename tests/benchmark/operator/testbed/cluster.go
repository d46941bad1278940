package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// stormNamespaces is the number of namespaces that contain Echoes. Whenever a Deployment changes, the Kubernetes controllers read all pods
	// and ReplicaSets in its namespace. If all 20,000 pods were in one namespace, these reads would take longer than everything else.
	stormNamespaces = 20
	// podsPerNode is the maximum number of pods on a node.
	podsPerNode = 500
	// atRollout is the maximum number of old, new, and terminating pods during a rollout, as a multiple of the usual number of pods.
	atRollout = 2
)

// schedulerConfig makes the scheduler choose any node with enough resources, and raises the scheduler's limit on API requests.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
profiles:
- plugins: {preScore: {disabled: [{name: "*"}]}, score: {disabled: [{name: "*"}]}}
`

// Cluster is a control plane with the controllers and the scheduler that its pods require. The kubelets of its nodes are simulated.
type Cluster struct {
	*ControlPlane
	kubernetes   string     // directory of the Kubernetes programs
	programs     []*Program // excludes the programs of the control plane
	stopKubelets context.CancelFunc
}

// StartCluster starts a cluster with enough nodes for a number of pods. kubernetes is the directory of the controllers and the scheduler.
func StartCluster(ctx context.Context, kubernetes string, pods int) (_ *Cluster, err error) {
	p, err := StartControlPlane(ctx)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	c := &Cluster{ControlPlane: p, kubernetes: kubernetes, stopKubelets: stop}
	defer func() {
		if err != nil {
			err = errors.Join(c.Failure(err), c.Stop())
		}
	}()
	return c, errors.Join(c.addNamespaces(ctx), c.addNodes(ctx, NodesFor(pods)), startKubelets(running, c.Env.Config),
		c.startControllers(ctx), c.startScheduler(ctx))
}

// StormNamespace returns the namespace of the Echo with the given number.
func StormNamespace(number int) string {
	return fmt.Sprintf("%s-%02d", Namespace, number%stormNamespaces)
}

// Namespaces returns all namespaces that contain Echoes.
func Namespaces() []string {
	var all []string
	for i := range stormNamespaces {
		all = append(all, StormNamespace(i))
	}
	return all
}

func (c *Cluster) addNamespaces(ctx context.Context) error {
	for _, name := range Namespaces() {
		if err := c.Client.Create(ctx, &corev1.Namespace{Name: name}); err != nil {
			return err
		}
	}
	return nil
}

// NodesFor returns the number of nodes that the given number of pods requires during a rollout, plus one spare node.
func NodesFor(pods int) int { return (pods*atRollout+podsPerNode-1)/podsPerNode + 1 }

// addNodes adds nodes and removes their taints, because the controller that usually removes the taints is not running.
func (c *Cluster) addNodes(ctx context.Context, count int) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("10Ti"),
		corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	return Parallel(ctx, count, func(ctx context.Context, i int) error {
		ready := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
		node := &corev1.Node{Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: ready}}
		node.Name = fmt.Sprintf("node-%03d", i)
		node.Labels = map[string]string{corev1.LabelHostname: node.Name, corev1.LabelOSStable: "linux"}
		if err := c.Client.Create(ctx, node); err != nil {
			return err
		}
		return c.Client.Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"taints":null}}`)))
	})
}

// startControllers starts the controllers that pods require, with a high limit on API requests. It omits the disruption controller, which
// reads all PodDisruptionBudgets in the namespace for each pod event. With thousands of PodDisruptionBudgets, these reads would take longer
// than everything else.
func (c *Cluster) startControllers(ctx context.Context) error {
	const user = "system:kube-controller-manager"
	if err := c.addUser(user); err != nil {
		return err
	}
	return c.launch(ctx, filepath.Join(c.kubernetes, "kube-controller-manager"), "--kubeconfig="+c.Kubeconfig(user), "--use-service-account-credentials",
		"--controllers=deployment-controller,replicaset-controller,garbage-collector-controller",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20", "--concurrent-gc-syncs=20",
		"--kube-api-qps=5000", "--kube-api-burst=5000", "--leader-elect=false", "--secure-port=0")
}

func (c *Cluster) startScheduler(ctx context.Context) error {
	const user = "system:kube-scheduler"
	if err := c.addUser(user); err != nil {
		return err
	}
	config := filepath.Join(c.folder, "scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, schedulerConfig, c.Kubeconfig(user)), 0o600); err != nil {
		return err
	}
	return c.launch(ctx, filepath.Join(c.kubernetes, "kube-scheduler"), "--config="+config, "--secure-port=0")
}

// addUser adds a user and writes the user's kubeconfig.
func (c *Cluster) addUser(name string, groups ...string) error {
	user, err := c.Env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		return err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig(name), kubeconfig, 0o600)
}

// launch starts a program that stops when the cluster stops.
func (c *Cluster) launch(ctx context.Context, path string, arguments ...string) error {
	g, err := launch(ctx, c.ControlPlane, nil, path, arguments...)
	if err == nil {
		c.programs = append(c.programs, g)
	}
	return err
}

// Failure adds the end of each program's log to an error.
func (c *Cluster) Failure(err error) error {
	for _, g := range c.programs {
		err = g.Failure(err)
	}
	return err
}

// Stop stops the kubelets, the programs, and the control plane.
func (c *Cluster) Stop() error {
	c.stopKubelets()
	var err error
	for _, g := range c.programs {
		err = errors.Join(err, g.Kill())
	}
	return errors.Join(err, c.ControlPlane.Stop())
}
