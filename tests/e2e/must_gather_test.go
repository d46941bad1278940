package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// asOC is a script that calls other programs in the same way as the script that `oc adm must-gather` runs in an image. Both scripts monitor
// disk usage while the image gathers data.
const asOC = `
while true; do
	used=$(df -P /must-gather | awk 'NR==2 {print $5}' | sed 's/%//')
	[ "$used" -gt 99 ] && exit 1
	sleep 5
done & setsid -w bash <<-MUSTGATHER_EOF
/usr/bin/gather --operator-namespace=echo-operator-system
MUSTGATHER_EOF
[ $? = 0 ] && sync && echo 'Caches written to disk'`

var _ = Describe("the must-gather image", Label("must-gather"), func() {
	It("collects Echoes, their objects, and the operator's logs and metrics, but no secrets, in a pod as oc runs it", func(ctx SpecContext) {
		const canary = "canary-2342-never-written"
		namespace := namespaces.New(ctx)
		echo := support.Echo(namespace, "gathered", func(e *v1.Echo) {
			e.Spec.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: canary}}
			e.Spec.Response = &v1.EchoResponse{Body: canary}
		})
		createReady(ctx, echo)
		probe(ctx, echo, "--count=3") // so that the echo servers log requests

		pod := startGatherPod(ctx, namespace)
		support.EventuallyObject(ctx, k8s, pod).Should(HaveField("Status.ContainerStatuses", ContainElement(
			And(HaveField("Name", "gather"), HaveField("State.Terminated", Not(BeNil()))))))
		output := realcluster.Kubectl(ctx, "logs", "-n", namespace, pod.Name, "-c", "gather")
		Expect(output).To(And(ContainSubstring("could not read 0"), HaveSuffix("Caches written to disk\n")))

		folder := GinkgoT().TempDir()
		realcluster.Kubectl(ctx, "cp", "-n", namespace, "-c", "copy", pod.Name+":/must-gather", folder) // kubectl cp uses tar, like oc rsync
		files := support.FilesBelow(folder)
		for path, text := range files {
			Expect(text).NotTo(ContainSubstring(canary), path)
		}
		operator := "namespaces/" + operatorNamespace + "/pods/" + awaitLeader(ctx).Name + "/"
		Expect(files).To(And(
			HaveKeyWithValue("kubernetes-version.json", ContainSubstring("gitVersion")),
			HaveKeyWithValue("not-read.txt", BeEmpty()),
			HaveKeyWithValue("namespaces/"+namespace+"/example.com/echoes.yaml", ContainSubstring("name: gathered")),
			HaveKeyWithValue("namespaces/"+namespace+"/apps/replicasets.yaml", ContainSubstring("name: gathered-")),
			HaveKeyWithValue("namespaces/"+namespace+"/discovery.k8s.io/endpointslices.yaml", ContainSubstring("name: gathered-")),
			HaveKeyWithValue(operator+"metrics.txt", ContainSubstring("controller_runtime_reconcile_total")),
			HaveKeyWithValue(operator+"manager/manager/logs/current.log", ContainSubstring("Starting workers"))))
		servers := pods(ctx, Default, echo)
		Expect(files).To(HaveKeyWithValue("namespaces/"+namespace+"/pods/"+servers[0].Name+"/echo/echo/logs/current.log",
			ContainSubstring(`"msg":"listening"`)))
	}, SpecTimeout(10*time.Minute))
})

// startGatherPod runs the image as oc does: as an administrator, with a container that gathers data and one from which oc copies files.
func startGatherPod(ctx context.Context, namespace string) *corev1.Pod {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{GenerateName: "must-gather-",
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "default"}}}
	Expect(k8s.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, binding))).To(Succeed()) }, NodeTimeout(time.Minute))
	container := func(name, script string) corev1.Container {
		return corev1.Container{Name: name, Image: realcluster.Image("echo-operator-must-gather"), Command: []string{"/bin/bash", "-c", script},
			VolumeMounts: []corev1.VolumeMount{{Name: "output", MountPath: "/must-gather"}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}
	}
	pod := &corev1.Pod{Namespace: namespace, GenerateName: "must-gather-", Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(0)),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Volumes:    []corev1.Volume{{Name: "output", EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		Containers: []corev1.Container{container("gather", asOC), container("copy", "trap : TERM INT; sleep infinity & wait")}}}
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	return pod
}
