const t0=process.cpuUsage();
await import(process.argv[2]!);
const t=process.cpuUsage(t0);
console.log(process.argv[2], ((t.user+t.system)/1000).toFixed(0),'ms');
