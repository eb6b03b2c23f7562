// Puts, browses, inquires and consumes by callback at the queue Q of QM1, with Node's ibmmq.
"use strict";
const mq = require("ibmmq");
const MQC = mq.MQC;

function say(...words) {
  console.log(words.join(" "));
}

async function main() {
  const hConn = await mq.ConnPromise("QM1");
  const od = new mq.MQOD();
  od.ObjectName = "Q";
  od.ObjectType = MQC.MQOT_Q;
  const options = MQC.MQOO_OUTPUT | MQC.MQOO_INPUT_SHARED | MQC.MQOO_BROWSE | MQC.MQOO_INQUIRE;
  const hObj = await mq.OpenPromise(hConn, od, options);
  for (const text of ["one", "two", "three"]) {
    const md = new mq.MQMD();
    const pmo = new mq.MQPMO();
    md.Format = MQC.MQFMT_STRING;
    pmo.Options = MQC.MQPMO_NO_SYNCPOINT | MQC.MQPMO_NEW_MSG_ID;
    await mq.PutPromise(hObj, md, pmo, text);
  }
  const room = Buffer.alloc(100);
  for (const which of [MQC.MQGMO_BROWSE_FIRST, MQC.MQGMO_BROWSE_NEXT, MQC.MQGMO_NO_SYNCPOINT]) {
    const gmo = new mq.MQGMO();
    gmo.Options = which;
    const length = mq.GetSync(hObj, new mq.MQMD(), gmo, room);
    say("got", room.toString("utf8", 0, length));
  }
  const depth = new mq.MQAttr(MQC.MQIA_CURRENT_Q_DEPTH);
  mq.Inq(hObj, [depth]);
  say("depth", depth.value);
  await new Promise((resolve, reject) => {
    const gmo = new mq.MQGMO();
    gmo.Options = MQC.MQGMO_SYNCPOINT | MQC.MQGMO_WAIT;
    gmo.WaitInterval = 100;
    mq.Get(hObj, new mq.MQMD(), gmo, (error, consumed, _gmo, _md, data, connected) => {
      if (!error) {
        say("consumed", data.toString());
        mq.Cmit(connected, (failed) => failed && reject(failed));
      } else {
        say("told", error.mqrc);
        mq.GetDone(consumed, (failed) => (failed ? reject(failed) : resolve()));
      }
    });
    if (process.env.MQIJS_NOUSECTL === undefined) mq.Ctl(hConn, MQC.MQOP_START);
  });
  await mq.ClosePromise(hObj, 0);
  await mq.DiscPromise(hConn);
}

// The package keeps a function for callbacks, so that the program would not end by itself.
main().then(() => process.exit(0), (error) => { say("failed", error); process.exit(1); });
